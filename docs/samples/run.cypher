// A run of a workflow: what happened in it, in its order.
CALL runs.create('triage', {id: 'sample'}) YIELD id
CALL runs.append(id, {type: 'userMessage', content: 'What is this issue about?'}) YIELD seq
RETURN id, seq;

CALL runs.append('sample', {type: 'workflowCompleted'}) YIELD seq, state
RETURN seq, state;

CALL runs.events('sample') YIELD seq, type
RETURN seq, type;
