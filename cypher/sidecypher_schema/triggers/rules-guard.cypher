// trigger: rules-guard
// phase: before
//
// 1. A concept, rule, fact, preference or relation hangs on an Extraction, now and later.
// 2. A rule that plain Cypher writes is checked as `rules.add` checks one.
//
// APOC runs this in each transaction that writes, before its commit; an error rolls it back. Nodes
// and relationships that the transaction deletes have no properties or labels any more: they are told
// by elementId(), and what can still be matched by it lives on.

// Most transactions touch nothing of this, and end here.
UNWIND CASE WHEN
  any(label IN ['StyleRule', 'Concept', 'Fact', 'Extraction']
      WHERE $assignedLabels[label] IS NOT NULL OR $removedLabels[label] IS NOT NULL)
  OR any(each IN $createdRelationships
         WHERE type(each) IN ['PREFERS', 'RELATED_TO', 'CONFIRMED', 'RETRACTED'])
  OR any(each IN $deletedRelationships
         WHERE type(each) IN ['CREATED', 'ASSERTED', 'CONFIRMED', 'RETRACTED'])
  OR any(key IN keys($assignedNodeProperties) + keys($removedNodeProperties) WHERE key IN [
    'user', 'extractionId', 'key', 'factId', 'type', 'fromKey', 'toKey', 'ruleId', 'scope', 'scopeId',
    'slot', 'object', 'operator', 'value', 'polarity', 'condition', 'text', 'strict', 'checkedRev'])
  OR any(key IN keys($assignedRelationshipProperties) + keys($removedRelationshipProperties)
         WHERE key IN ['extractionId', 'factId', 'since', 'expiresAt', 'scope', 'temporalMarker',
           'confidence', 'confirmed', 'strict', 'recordedAt', 'retractedAt', 'at'])
THEN [true] ELSE [] END AS concerned

CALL () {
  // A new fact without an Extraction.
  UNWIND ['StyleRule', 'Concept', 'Fact'] AS label
  UNWIND coalesce($assignedLabels[label], []) AS fact
  WITH label, fact
  WHERE NOT EXISTS {
    (fact)<-[:CREATED|ASSERTED]-(source:Extraction) WHERE source.extractionId IS NOT NULL
  }
  RETURN 'The ' + label + ' `' + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId)), 'without an id')
    + '` has no Extraction. Write it by rules.add or rules.remember, or create '
    + '(:Extraction {extractionId, method})-[:CREATED|ASSERTED]->() to it in the same transaction.' AS problem
  LIMIT 1
UNION ALL
  // A preference, new or given another Extraction, whose Extraction does not assert its rule.
  UNWIND [each IN $createdRelationships WHERE type(each) = 'PREFERS']
    + [change IN coalesce($assignedRelationshipProperties['extractionId'], [])
       WHERE type(change.relationship) = 'PREFERS' | change.relationship] AS preference
  WITH preference.extractionId AS extractionId, endNode(preference) AS rule
  WHERE rule:StyleRule AND NOT EXISTS {
    MATCH (source:Extraction {extractionId: extractionId})-[:CREATED|ASSERTED]->(rule)
    USING INDEX source:Extraction(extractionId)
  }
  RETURN 'A PREFERS of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
    + '` has no extractionId of an Extraction that created or asserted that rule. Write it by rules.add,'
    + ' or give it the extractionId of (:Extraction)-[:CREATED|ASSERTED]->() to the rule.' AS problem
  LIMIT 1
UNION ALL
  // A preference that is stored is never rewritten; only its end may be written, once.
  UNWIND ['since', 'expiresAt', 'scope', 'temporalMarker', 'confidence', 'confirmed', 'strict',
    'recordedAt', 'retractedAt'] AS key
  UNWIND [change IN coalesce($assignedRelationshipProperties[key], [])
            + coalesce($removedRelationshipProperties[key], [])
          WHERE type(change.relationship) = 'PREFERS'
            AND (change.old <> change.new OR change.new IS NULL)] AS change
  MATCH (user) WHERE elementId(user) = elementId(startNode(change.relationship))
  MATCH (rule) WHERE elementId(rule) = elementId(endNode(change.relationship))
  MATCH (user)-[preference:PREFERS]->(rule)
  WHERE elementId(preference) = elementId(change.relationship) AND rule:StyleRule
    AND change.old IS NOT NULL
  RETURN 'The ' + key + ' of a PREFERS of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
    + '` cannot change. State the rule again with a PREFERS of its own, or retract it by rules.retract.' AS problem
  LIMIT 1
UNION ALL
  // The end of a preference, a confirmation or a retraction without its time.
  UNWIND [change IN coalesce($assignedRelationshipProperties['retractedAt'], [])
          WHERE type(change.relationship) = 'PREFERS' | change.relationship]
    + [each IN $createdRelationships WHERE type(each) IN ['CONFIRMED', 'RETRACTED']]
    + [change IN coalesce($assignedRelationshipProperties['at'], [])
         + coalesce($assignedRelationshipProperties['recordedAt'], [])
       WHERE type(change.relationship) IN ['CONFIRMED', 'RETRACTED'] | change.relationship] AS said
  WITH said, endNode(said) AS rule,
    CASE type(said) WHEN 'PREFERS' THEN [said.retractedAt] ELSE [said.at, said.recordedAt] END AS times
  WHERE rule:StyleRule AND any(each IN times WHERE each IS NULL OR NOT each IS :: ZONED DATETIME)
  RETURN 'A ' + type(said) + ' of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
    + '` lacks its time, a ZONED DATETIME. Write it by rules.confirm or rules.retract.' AS problem
  LIMIT 1
UNION ALL
  // A strictness that no assertion has. What a procedure writes comes with its checkedRev.
  UNWIND coalesce($assignedNodeProperties['strict'], []) + coalesce($removedNodeProperties['strict'], []) AS change
  WITH collect(change) AS changes
  WITH changes, apoc.map.fromPairs([each IN coalesce($assignedNodeProperties['checkedRev'], [])
                                    | [elementId(each.node), true]]) AS checked
  UNWIND changes AS change
  MATCH (rule) WHERE elementId(rule) = elementId(change.node)
  WITH change, rule, checked
  WHERE rule:StyleRule AND checked[elementId(rule)] IS NULL
    AND change.old IS NOT NULL AND (change.old <> change.new OR change.new IS NULL)
  RETURN 'The strict of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
    + '` cannot change. State the rule again with a PREFERS that is strict.' AS problem
  LIMIT 1
UNION ALL
  // A preference that stays without its Extraction's id.
  UNWIND [change IN coalesce($removedRelationshipProperties['extractionId'], [])
          WHERE type(change.relationship) = 'PREFERS'] AS change
  MATCH (user) WHERE elementId(user) = elementId(startNode(change.relationship))
  MATCH (rule) WHERE elementId(rule) = elementId(endNode(change.relationship))
  MATCH (user)-[preference:PREFERS]->(rule)
  WHERE preference.extractionId IS NULL
  RETURN 'The extractionId of a PREFERS of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
    + '` cannot be removed. Delete the relationship, or retract the rule by rules.retract.' AS problem
  LIMIT 1
UNION ALL
  // A relation between concepts that is no Fact's.
  UNWIND [each IN $createdRelationships WHERE type(each) = 'RELATED_TO']
    + [change IN coalesce($assignedRelationshipProperties['factId'], [])
       WHERE type(change.relationship) = 'RELATED_TO' | change.relationship] AS relation
  WITH relation.factId AS factId, startNode(relation) AS one, endNode(relation) AS other
  WHERE one:Concept AND other:Concept AND NOT EXISTS {
    MATCH (fact:Fact {factId: factId})
    USING INDEX fact:Fact(factId)
    WHERE fact.fromKey = one.key AND fact.toKey = other.key
  }
  RETURN 'A RELATED_TO from the Concept `' + coalesce(toString(one.key), 'without a key')
    + '` has no factId of a Fact of these two concepts. Write it by rules.remember, or create the Fact'
    + ' with its Extraction and give the relationship its factId.' AS problem
  LIMIT 1
UNION ALL
  // A relation that stays without its Fact's id.
  UNWIND [change IN coalesce($removedRelationshipProperties['factId'], [])
          WHERE type(change.relationship) = 'RELATED_TO'] AS change
  MATCH (one) WHERE elementId(one) = elementId(startNode(change.relationship))
  MATCH (other) WHERE elementId(other) = elementId(endNode(change.relationship))
  MATCH (one)-[relation:RELATED_TO]->(other)
  WHERE one:Concept AND other:Concept AND relation.factId IS NULL
  RETURN 'The factId of a RELATED_TO from the Concept `' + coalesce(toString(one.key), 'without a key')
    + '` cannot be removed. Delete the relationship.' AS problem
  LIMIT 1
UNION ALL
  // A Fact that goes while its relation stays. Most relations go with it: to look those up in the
  // index would take seconds for thousands.
  UNWIND coalesce($removedNodeProperties['factId'], []) AS change
  WITH collect(change.old) AS factIds
  WHERE size(factIds) > 0
  WITH factIds, apoc.map.fromPairs([each IN coalesce($removedRelationshipProperties['factId'], [])
                                    | [toString(each.old), true]]) AS removed
  UNWIND [each IN factIds WHERE removed[toString(each)] IS NULL] AS factId
  MATCH (:Concept)-[relation:RELATED_TO {factId: factId}]->(:Concept)
  USING INDEX relation:RELATED_TO(factId)
  WHERE NOT EXISTS { MATCH (fact:Fact {factId: factId}) USING INDEX fact:Fact(factId) }
  RETURN 'The RELATED_TO of the Fact `' + toString(factId) + '` would stay without it. Delete both in the'
    + ' same transaction.' AS problem
  LIMIT 1
UNION ALL
  // Provenance that goes while its fact stays.
  UNWIND [each IN $deletedRelationships
          WHERE type(each) IN ['CREATED', 'ASSERTED', 'CONFIRMED', 'RETRACTED']] AS removed
  MATCH (fact) WHERE elementId(fact) = elementId(endNode(removed))
  WITH removed, fact, elementId(startNode(removed)) AS id
  WHERE fact:StyleRule OR fact:Concept OR fact:Fact
  OPTIONAL MATCH (source) WHERE elementId(source) = id
  WITH removed, fact, id, source
  WHERE source:Extraction
    OR any(each IN coalesce($removedLabels['Extraction'], []) WHERE elementId(each) = id)
  RETURN 'The Extraction of `' + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId)), 'a fact without an id')
    + '`, or its ' + type(removed) + ', would be gone while that stays. Delete both in the same'
    + ' transaction, or keep both: rules.retract ends a rule and keeps its history.' AS problem
  LIMIT 1
UNION ALL
  // A label taken from a fact or an Extraction that stays.
  UNWIND ['StyleRule', 'Concept', 'Fact', 'Extraction'] AS label
  UNWIND coalesce($removedLabels[label], []) AS removed
  MATCH (fact) WHERE elementId(fact) = elementId(removed)
  RETURN 'The label ' + label + ' cannot be taken from `'
    + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId, fact.extractionId)), 'a node without an id')
    + '`. Delete the node together with what hangs on it.' AS problem
  LIMIT 1
UNION ALL
  // Another identity for a stored fact. A rule that was never checked has none yet: checking it
  // gives it one.
  UNWIND [
    ['user', ['StyleRule', 'Concept', 'Fact']], ['extractionId', ['Extraction']], ['key', ['Concept']],
    ['factId', ['Fact']], ['type', ['Fact']], ['fromKey', ['Fact']], ['toKey', ['Fact']],
    ['ruleId', ['StyleRule']], ['scope', ['StyleRule']], ['scopeId', ['StyleRule']],
    ['slot', ['StyleRule']], ['object', ['StyleRule']], ['operator', ['StyleRule']],
    ['value', ['StyleRule']], ['polarity', ['StyleRule']], ['condition', ['StyleRule']],
    ['text', ['StyleRule']]
  ] AS identity
  WITH identity[0] AS key, identity[1] AS owners
  UNWIND coalesce($assignedNodeProperties[key], []) + coalesce($removedNodeProperties[key], []) AS change
  MATCH (fact) WHERE elementId(fact) = elementId(change.node)
  WITH key, fact, [each IN labels(fact) WHERE each IN owners][0] AS label
  WHERE label IS NOT NULL
  WITH collect([key, fact, label]) AS changes
  WHERE size(changes) > 0
  // Maps, since to look for thousands of nodes in a list takes seconds.
  WITH changes,
    apoc.map.fromPairs([each IN coalesce($assignedLabels['StyleRule'], [])
                          + coalesce($assignedLabels['Concept'], []) + coalesce($assignedLabels['Fact'], [])
                          + coalesce($assignedLabels['Extraction'], []) | [elementId(each), true]]) AS created,
    apoc.map.fromPairs([each IN coalesce($assignedNodeProperties['checkedRev'], [])
                        WHERE each.old IS NULL | [elementId(each.node), true]]) AS firstChecked,
    apoc.map.fromPairs([each IN coalesce($removedNodeProperties['checkedRev'], [])
                        | [elementId(each.node), true]]) AS unchecked
  UNWIND changes AS change
  WITH change[0] AS key, change[1] AS fact, change[2] AS label, elementId(change[1]) AS id,
    created, firstChecked, unchecked
  WHERE created[id] IS NULL AND (label <> 'StyleRule' OR (
    (key <> 'text' OR coalesce(fact.slot, '') = '')
    AND firstChecked[id] IS NULL AND (fact.checkedRev IS NOT NULL OR unchecked[id] IS NOT NULL)))
  RETURN 'The ' + key + ' of a stored ' + label + ' cannot change: `'
    + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId, fact.extractionId)), 'without an id')
    + '`. Write a new one with an Extraction of its own, and retract the old one if it is a rule.' AS problem
  LIMIT 1
UNION ALL
  RETURN null AS problem
}
WITH concerned, collect(problem) AS problems
CALL apoc.util.validate(size(problems) > 0, '%s', [problems[0]])
WITH apoc.map.fromPairs([each IN coalesce($assignedNodeProperties['checkedRev'], [])
                         | [elementId(each.node), true]]) AS checked
CALL () {
  // Rules whose meaning or time this transaction has touched.
  UNWIND coalesce($assignedLabels['StyleRule'], []) AS rule
  RETURN rule
UNION
  UNWIND ['user', 'scope', 'scopeId', 'slot', 'object', 'operator', 'value', 'polarity', 'condition', 'text',
    'strict', 'checkedRev'] AS key
  UNWIND coalesce($assignedNodeProperties[key], []) + coalesce($removedNodeProperties[key], []) AS change
  MATCH (rule) WHERE elementId(rule) = elementId(change.node)
  WITH rule WHERE rule:StyleRule
  RETURN rule
UNION
  UNWIND [each IN $createdRelationships WHERE type(each) = 'PREFERS'] AS preference
  WITH endNode(preference) AS rule WHERE rule:StyleRule
  RETURN rule
}
WITH checked, rule
// What a procedure has written in this transaction it has checked; a preference that was added
// beside it has no recordedAt yet.
WHERE checked[elementId(rule)] IS NULL
  OR EXISTS { (:User)-[preference:PREFERS]->(rule) WHERE preference.recordedAt IS NULL }
WITH collect(rule) AS rules
WHERE size(rules) > 0
// By its name in a text: a CALL that is part of this statement would fail every write once the
// plugin is gone.
CALL apoc.cypher.doIt('CALL rules.record($nodes) YIELD ruleId RETURN ruleId', {nodes: rules}) YIELD value
RETURN value
