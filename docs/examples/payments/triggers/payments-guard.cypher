// trigger: payments-guard
// phase: before
WITH coalesce($assignedLabels['Payment'], [])
  + [change IN coalesce($assignedNodeProperties['iban'], [])
       + coalesce($removedNodeProperties['iban'], [])
     WHERE change.node:Payment | change.node] AS payments
WITH [payment IN payments WHERE NOT payment IN $deletedNodes | coalesce(payment.iban, '')] AS ibans
WHERE size(ibans) > 0
// In a text, so that other writes go on when the plugin is taken away.
CALL apoc.cypher.run('CALL payments.check($ibans) RETURN true AS checked', {ibans: ibans}) YIELD value
RETURN value.checked
