#!/bin/sh
# Starts Redis with redis.conf and users.acl beside this file. The password comes from REDIS_PASSWORD, or
# from the file that REDIS_PASSWORD_FILE names; only its hash is written, to RUN_DIR (/tmp). The data
# lies in REDIS_DIR (/data). More settings may follow: start.sh --port 6380
set -eu
umask 077
here=$(cd "$(dirname "$0")" && pwd)
run=${RUN_DIR:-/tmp}
if [ -n "${REDIS_PASSWORD_FILE:-}" ]; then REDIS_PASSWORD=$(cat "$REDIS_PASSWORD_FILE"); fi
if [ "$(printf %s "${REDIS_PASSWORD:-}" | wc -c)" -lt 16 ]; then
  echo 'start.sh: set REDIS_PASSWORD to at least 16 characters' >&2
  exit 2
fi
hash=$(printf %s "$REDIS_PASSWORD" | sha256sum | cut -d ' ' -f 1)
unset REDIS_PASSWORD
sed "s/@REDIS_PASSWORD_SHA256@/$hash/" "$here/users.acl" > "$run/users.acl"
dir=${REDIS_DIR:-/data}
exec redis-server "$here/redis.conf" --aclfile "$run/users.acl" --dir "$dir" "$@"
