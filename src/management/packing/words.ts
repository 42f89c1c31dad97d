/**
 * What answers, paths and homes are made of, in the order in which it comes: most of an answer is then "the next
 * one". What was packed with one list cannot be read with another.
 */
export const words: readonly string[] = [
  ...['{"transferId":"', '","type":"', 'TopUp', 'Withdrawal', 'CardToCard', 'InitialFunding'],
  ...['Regularization', 'WalletFunding', '","amount":', ',"currency":"', 'USD', 'NGN', 'GHS'],
  ...['","cardId":"', '","balances":{"posted":', ',"held":', '0', ',"withheld":', '0'],
  ...[',"available":', ',"chargesPending":', '0', '},"beneficiaryCardId":"'],
  ...['","beneficiaryBalances":{"posted":', ',"held":', '0', ',"withheld":', '0', ',"available":'],
  ...[',"chargesPending":', '0', '},"wallet":{"currency":"', 'USD', 'NGN', 'GHS', '","balance":'],
  ...['},"completedAt":"', '"}'],

  ...['{"cardId":"', '","customerId":"', 'cus_01', '","accountId":"', 'acct_01', '","type":"'],
  ...['retail', 'corporate', 'lite', '","status":"', 'Active', 'Frozen', 'Terminated'],
  ...['","terminatedBy":', 'null', ',"maskedPan":"', 'null', '999999******', '","expiry":"20'],
  ...['","currency":"', 'USD', 'NGN', 'GHS', '","balances":{"posted":', ',"held":', '0'],
  ...[',"withheld":', '0', ',"available":', ',"chargesPending":', '0'],
  ...['},"cardLimits":{"dailyLimit":', 'null', ',"transactionLimit":', 'null'],
  ...['},"whiteListedMccs":[', '],"blackListedMccs":[', '],"whiteListedMids":['],
  ...['],"blackListedMids":[', '],"unblockedMids":[', '],"swipesLeft":', 'null', ',"replaces":'],
  ...['null', ',"contactlessPayment":', 'false', 'true', ',"nameOnCard":"'],
  ...['","address":{"line1":"', '","line2":"', '","city":"', 'Lagos', 'Accra', '","state":"'],
  ...['Lagos', '","postalCode":"', '","country":"', 'NG', 'GH', 'US', '"},"metadata":{'],
  ...[
    '},"createdAt":"20',
    '"}',
    ',"nameOnCard":null,"address":null,"metadata":{},"createdAt":null}',
  ],

  ...['{"cardId":"', '","results":[{"mid":"', '"},{"mid":"', '","result":"', 'Added', 'Removed'],
  ...['Unchanged', 'Unblocked', 'Failed', '","responseCode":"', '000', '134', '"}],"done":'],
  ...[',"failed":', '0', ',"whitelistInForce":', 'false', 'true', '}'],

  ...['{"taken":', ',"pending":', '0', ',"currency":"', 'USD', '","charges":[{"transactionId":"'],
  ...['","taken":', ',"pending":', '0', '}],"balances":{"posted":'],

  ...['{"webhookId":"', 'whk_01', '","url":"https://', '","events":["', '*', '"],"description":"'],
  ...['"],"enabled":', '","enabled":', 'true', 'false', ',"disabledBecause":', 'null'],
  ...[',"createdAt":"20', '","lastSuccessAt":', ',"lastFailure":', ',"pending":', '{"queued":'],

  ...['{"kycToken":"', 'kyc_01', '","clientReference":"', '","method":"', 'number', 'document'],
  ...['business', '","status":"', 'Initiated', 'Pending', 'Approved', 'Rejected'],
  ...['","customerId":"', 'cus_01', '","kycCode":"', '000', '","submittedAt":"20'],
  ...['","completedAt":', '"20', 'null', '}'],

  ...[
    '["cards/card_01',
    '["cards/',
    '["cards',
    'transfer',
    'retail',
    'corporate',
    'lite',
    'reissue',
  ],
  ...['/topup', '/withdrawal', '/full', '/freeze', '/unfreeze', '/terminate', '/transactions'],
  ...[
    '/charges/reprocess',
    '/regularize',
    '/blacklist',
    '/whitelist',
    '/add',
    '/remove',
    '/unblock-once',
  ],
  ...['","a:acct_01', '","a:', '","w:', ':USD', ':NGN', ':GHS', '",""]', '"]', '["wallets'],
  ...['["transactions', '["customers/cus_01', '["customers', '["kyc/kyc_01', '["kyc/'],
  ...['["webhooks/whk_01', '["webhooks', '["requests/', '["events', '["organization'],
]
