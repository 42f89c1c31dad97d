#!/bin/sh
# Starts Redis with redis.conf and users.acl beside this file. The password comes from REDIS_PASSWORD, or
# from the file that REDIS_PASSWORD_FILE names; Redis is told its hash only. The data lies in REDIS_DIR
# (/data). More settings may follow: start.sh --port 6380
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if [ -n "${REDIS_PASSWORD_FILE:-}" ]; then REDIS_PASSWORD=$(cat "$REDIS_PASSWORD_FILE"); fi
if [ "$(printf %s "${REDIS_PASSWORD:-}" | wc -c)" -lt 16 ]; then
  echo 'start.sh: set REDIS_PASSWORD to at least 16 characters' >&2
  exit 2
fi
# As the end of a line that Windows wrote: nobody would type it, and Arbiter refuses it too.
if [ "$REDIS_PASSWORD" != "$(printf %s "$REDIS_PASSWORD" | tr -d '[:cntrl:]')" ]; then
  echo 'start.sh: REDIS_PASSWORD has a control character, as from a file with CRLF line ends' >&2
  exit 2
fi
hash=$(printf %s "$REDIS_PASSWORD" | sha256sum | cut -d ' ' -f 1)
unset REDIS_PASSWORD
settings=$(sed "s/@REDIS_PASSWORD_SHA256@/$hash/" "$here/redis.conf" "$here/users.acl")
# On standard input, for a file of its own could be put there by another user of the machine, and one that Redis
# knows of is written by Sentinel at a failover, users too, which a start that names these again refuses.
umask 077
exec redis-server --dir "${REDIS_DIR:-/data}" "$@" - << END
$settings
END
