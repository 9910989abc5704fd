// What a user wants: two rules that contradict each other, and which one holds.
CALL rules.add({userId: 'ann', text: 'formal tone'}, {method: 'rule', rawSnippet: 'Formal, please.'})
YIELD status, reason
RETURN status, reason;

CALL rules.add({userId: 'ann', text: 'casual tone'}, {method: 'rule', rawSnippet: 'You may relax.'})
YIELD status, reason, contradicts
RETURN status, reason, size(contradicts) AS contradicts;

CALL rules.active('ann') YIELD text, status, reason
RETURN text, status, reason;
