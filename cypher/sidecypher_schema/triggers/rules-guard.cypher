// trigger: rules-guard
// phase: before
//
// 1. Each concept, rule, fact, preference and relation has an Extraction, now and later.
// 2. A rule that plain Cypher writes is checked in the same way as by `rules.add`.
//
// APOC runs this in each writing transaction before its commit; an error rolls it back. Deleted nodes
// and relationships have no properties or labels any more: they are identified by elementId(). If one
// can still be matched by it, it was not deleted.

// Most transactions change none of these and end here. The name of a node's property is not enough:
// other nodes have a `type` or `text` too. A deleted node has no label here, but in $removedLabels.
// No plan of it is better than another: to plan it again, as Neo4j does while the graph grows, would
// only let all writers wait.
CYPHER replan=skip
UNWIND CASE WHEN
  any(label IN ['StyleRule', 'Concept', 'Fact', 'Extraction']
      WHERE $assignedLabels[label] IS NOT NULL OR $removedLabels[label] IS NOT NULL)
  OR any(each IN $createdRelationships
         WHERE type(each) IN ['PREFERS', 'RELATED_TO', 'CONFIRMED', 'RETRACTED', 'CONTRADICTS'])
  OR any(each IN $deletedRelationships
         WHERE type(each) IN ['CREATED', 'ASSERTED', 'CONFIRMED', 'RETRACTED', 'ENDED', 'CONTRADICTS'])
  OR any(changes IN [$assignedNodeProperties, $removedNodeProperties]
         WHERE any(key IN keys(changes) WHERE key IN [
             'user', 'extractionId', 'key', 'factId', 'type', 'fromKey', 'toKey', 'ruleId', 'scope',
             'scopeId', 'slot', 'object', 'operator', 'value', 'polarity', 'condition', 'text', 'strict',
             'checkedRev']
           AND any(each IN changes[key] WHERE each.node:StyleRule|Concept|Fact|Extraction)))
  OR any(changes IN [$assignedRelationshipProperties, $removedRelationshipProperties]
         WHERE any(key IN keys(changes) WHERE key IN [
             'extractionId', 'factId', 'since', 'expiresAt', 'scope', 'temporalMarker', 'confidence',
             'confirmed', 'strict', 'recordedAt', 'retractedAt', 'at', 'key', 'reason', 'createdAt',
             'detector', 'detectorVersion', 'verdict', 'layer', 'score', 'strategy']
           AND any(each IN changes[key] WHERE type(each.relationship) IN [
             'PREFERS', 'RELATED_TO', 'CONFIRMED', 'RETRACTED', 'CONTRADICTS'])))
THEN [true] ELSE [] END AS concerned

// What this transaction has created it may also change, and what it has deleted says nothing more.
// A map, since to look for thousands of relationships in a list takes seconds.
WITH apoc.map.fromPairs([each IN $createdRelationships + $deletedRelationships
    WHERE type(each) IN ['PREFERS', 'CONFIRMED', 'RETRACTED', 'CONTRADICTS']
    | [elementId(each), true]]) AS unstored, {
  PREFERS: ['since', 'expiresAt', 'scope', 'temporalMarker', 'confidence', 'confirmed', 'strict',
    'recordedAt', 'retractedAt', 'extractionId'],
  CONFIRMED: ['at', 'recordedAt'],
  RETRACTED: ['at', 'recordedAt'],
  CONTRADICTS: ['key', 'reason', 'createdAt', 'extractionId', 'detector', 'detectorVersion', 'verdict',
    'layer', 'score', 'strategy']
} AS kept

// Each check is a statement of its own, in a text: Neo4j plans it only when there is something to look
// at. As one statement all of this was planned anew for each new shape and size of a transaction, also
// of one that is not concerned, and a plan took a second.
UNWIND [
  {
    // A new fact without an Extraction.
    rows: [each IN coalesce($assignedLabels['StyleRule'], []) | {label: 'StyleRule', fact: each}]
      + [each IN coalesce($assignedLabels['Concept'], []) | {label: 'Concept', fact: each}]
      + [each IN coalesce($assignedLabels['Fact'], []) | {label: 'Fact', fact: each}],
    text: "
      UNWIND $rows AS row
      WITH row.label AS label, row.fact AS fact
      WHERE NOT EXISTS {
        (fact)<-[:CREATED|ASSERTED]-(source:Extraction) WHERE source.extractionId IS NOT NULL
      }
      RETURN 'The ' + label + ' `'
        + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId)), 'without an id')
        + '` has no Extraction. Write it by rules.add or rules.remember, or create '
        + '(:Extraction {extractionId, method})-[:CREATED|ASSERTED]->() to it in the same transaction.'
        AS problem
      LIMIT 1"
  }, {
    // A preference whose Extraction does not assert its rule.
    rows: [each IN $createdRelationships WHERE type(each) = 'PREFERS'
           | {extractionId: each.extractionId, rule: endNode(each)}],
    text: "
      UNWIND $rows AS row
      WITH row.extractionId AS extractionId, row.rule AS rule
      WHERE rule:StyleRule AND NOT EXISTS {
        MATCH (source:Extraction {extractionId: extractionId})-[:CREATED|ASSERTED]->(rule)
        USING INDEX source:Extraction(extractionId)
      }
      RETURN 'A PREFERS of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
        + '` has no extractionId of an Extraction that created or asserted that rule. Write it by '
        + 'rules.add, or give it the extractionId of (:Extraction)-[:CREATED|ASSERTED]->() to the rule.'
        AS problem
      LIMIT 1"
  }, {
    // What is stored is never rewritten. Only the end of a preference is written later, once; and the
    // check of a rule completes a preference that was stored unchecked. `rules.forget` gives a
    // contradiction another source, and a preference the end that it has without what is forgotten.
    rows: reduce(found = [], key IN ['since', 'expiresAt', 'scope', 'temporalMarker', 'confidence',
        'confirmed', 'strict', 'recordedAt', 'retractedAt', 'extractionId', 'at', 'key', 'reason',
        'createdAt', 'detector', 'detectorVersion', 'verdict', 'layer', 'score', 'strategy'] |
      found + [change IN coalesce($assignedRelationshipProperties[key], [])
                 + coalesce($removedRelationshipProperties[key], [])
               WHERE key IN kept[type(change.relationship)]
                 AND unstored[elementId(change.relationship)] IS NULL
                 AND (change.old IS NULL AND key <> 'retractedAt' OR change.new IS NULL
                   OR change.old <> change.new)
               | {key: key, stored: change.relationship,
                  completes: change.old IS NULL AND key IN ['recordedAt', 'confirmed', 'strict']
                    OR key = 'retractedAt'
                    OR key = 'extractionId' AND type(change.relationship) = 'CONTRADICTS'}]),
    more: [each IN coalesce($assignedNodeProperties['checkedRev'], []) | elementId(each.node)],
    text: "
      WITH apoc.map.fromPairs([each IN $more | [each, true]]) AS checked
      UNWIND $rows AS row
      WITH row, type(row.stored) AS type, startNode(row.stored) AS other, endNode(row.stored) AS rule,
        checked
      WHERE rule:StyleRule AND (type <> 'CONTRADICTS' OR other:StyleRule)
        AND NOT (row.completes
          AND (checked[elementId(rule)] IS NOT NULL OR checked[elementId(other)] IS NOT NULL))
      RETURN 'The ' + row.key + ' of a ' + type + ' of the rule `'
        + coalesce(toString(rule.ruleId), 'without an id') + '` cannot change. ' + CASE type
          WHEN 'PREFERS' THEN 'State the rule again with a PREFERS of its own, delete this one, or '
            + 'retract the rule by rules.retract.'
          WHEN 'CONFIRMED' THEN 'Confirm the rule again by rules.confirm.'
          WHEN 'RETRACTED' THEN 'State the rule again, or retract it again by rules.retract.'
          ELSE 'What was found stays: confirm the rule that shall hold, or retract the other one.'
          END AS problem
      LIMIT 1"
  }, {
    // A preference with what no preference can have: reads of its scope would fail. That something is
    // missing `rules.record` tells, unless somebody has given the time of the record himself.
    rows: [each IN $createdRelationships WHERE type(each) = 'PREFERS']
      + reduce(found = [], key IN ['recordedAt', 'confirmed', 'strict', 'retractedAt'] |
        found + [change IN coalesce($assignedRelationshipProperties[key], [])
                 WHERE type(change.relationship) = 'PREFERS'
                   AND unstored[elementId(change.relationship)] IS NULL | change.relationship]),
    text: "
      UNWIND $rows AS stated
      WITH stated, endNode(stated) AS rule
      WHERE rule:StyleRule
      WITH rule, CASE
        WHEN NOT stated.since IS :: ZONED DATETIME
          OR stated.since IS NULL AND stated.recordedAt IS NOT NULL
        THEN 'a `since` that is not a ZONED DATETIME'
        WHEN NOT stated.expiresAt IS :: ZONED DATETIME
        THEN 'a `expiresAt` that is not a ZONED DATETIME'
        WHEN NOT stated.retractedAt IS :: ZONED DATETIME
        THEN 'a `retractedAt` that is not a ZONED DATETIME'
        WHEN NOT stated.recordedAt IS :: ZONED DATETIME
        THEN 'a `recordedAt` that is not a ZONED DATETIME'
        WHEN NOT stated.confidence IS :: INTEGER | FLOAT
          OR stated.confidence IS NOT NULL AND NOT 0 <= stated.confidence <= 1
        THEN 'a `confidence` outside of 0 to 1'
        WHEN NOT stated.confirmed IS :: BOOLEAN THEN 'a `confirmed` that is not a BOOLEAN'
        WHEN NOT stated.strict IS :: BOOLEAN THEN 'a `strict` that is not a BOOLEAN'
        WHEN stated.recordedAt IS NOT NULL
          AND NOT coalesce(stated.temporalMarker IN ['current', 'past', 'future', 'negated'], false)
        THEN 'an unknown `temporalMarker`'
        WHEN stated.retractedAt IS NOT NULL AND NOT EXISTS {
          (rule)<-[end:RETRACTED]-(:Extraction) WHERE end.recordedAt = stated.retractedAt
        }
        THEN 'a `retractedAt` without a RETRACTED from an Extraction that has it as its recordedAt'
        END AS told
      WHERE told IS NOT NULL
      RETURN 'A PREFERS of the rule `' + coalesce(toString(rule.ruleId), 'without an id') + '` has '
        + told + '. Write it by rules.add, and its end by rules.retract.' AS problem
      LIMIT 1"
  }, {
    // A confirmation or a retraction without its time.
    rows: [each IN $createdRelationships WHERE type(each) IN ['CONFIRMED', 'RETRACTED']],
    text: "
      UNWIND $rows AS said
      WITH said, endNode(said) AS rule
      WHERE rule:StyleRule AND NOT (said.at IS :: ZONED DATETIME NOT NULL
        AND said.recordedAt IS :: ZONED DATETIME NOT NULL)
      RETURN 'A ' + type(said) + ' of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
        + '` lacks its time, a ZONED DATETIME. Write it by rules.confirm or rules.retract.' AS problem
      LIMIT 1"
  }, {
    // A contradiction that lacks what is read of it.
    rows: [each IN $createdRelationships WHERE type(each) = 'CONTRADICTS'],
    text: "
      UNWIND $rows AS found
      WITH found, startNode(found) AS one, endNode(found) AS other
      WHERE one:StyleRule AND other:StyleRule
      UNWIND ['key', 'reason', 'createdAt', 'extractionId', 'detector', 'detectorVersion', 'verdict',
              'layer', 'score', 'strategy'] AS key
      WITH key, found[key] AS value, other
      WHERE NOT CASE key
        WHEN 'createdAt' THEN value IS :: ZONED DATETIME NOT NULL
        WHEN 'verdict' THEN coalesce(value IN ['conflict', 'suspected'], false)
        WHEN 'score' THEN value IS :: INTEGER | FLOAT
        ELSE value IS :: STRING NOT NULL END
      RETURN 'A CONTRADICTS of the rule `' + coalesce(toString(other.ruleId), 'without an id')
        + '` has no valid `' + key + '`. Those of rules are written by rules.add and rules.suspect, and '
        + 'for a rule of plain Cypher by its check.' AS problem
      LIMIT 1"
  }, {
    // A contradiction that goes while both of its rules stay.
    rows: [each IN $deletedRelationships WHERE type(each) = 'CONTRADICTS'
           | {one: elementId(startNode(each)), other: elementId(endNode(each))}],
    text: "
      UNWIND $rows AS row
      MATCH (one) WHERE elementId(one) = row.one
      MATCH (other) WHERE elementId(other) = row.other
      WITH one, other WHERE one:StyleRule AND other:StyleRule
      RETURN 'The CONTRADICTS of the rules `' + coalesce(toString(one.ruleId), 'without an id')
        + '` and `' + coalesce(toString(other.ruleId), 'without an id') + '` would be gone while both '
        + 'stay. Confirm the one that shall hold, or retract the other one.' AS problem
      LIMIT 1"
  }, {
    // A strictness that no assertion has. What a procedure writes comes with its checkedRev.
    rows: [change IN coalesce($assignedNodeProperties['strict'], [])
             + coalesce($removedNodeProperties['strict'], [])
           WHERE change.old IS NOT NULL AND (change.new IS NULL OR change.old <> change.new)
           | elementId(change.node)],
    more: [each IN coalesce($assignedNodeProperties['checkedRev'], []) | elementId(each.node)],
    text: "
      WITH apoc.map.fromPairs([each IN $more | [each, true]]) AS checked
      UNWIND [each IN $rows WHERE checked[each] IS NULL] AS id
      MATCH (rule) WHERE elementId(rule) = id
      WITH rule WHERE rule:StyleRule
      RETURN 'The strict of the rule `' + coalesce(toString(rule.ruleId), 'without an id')
        + '` cannot change. State the rule again with a PREFERS that is strict.' AS problem
      LIMIT 1"
  }, {
    // A relation between concepts that is no Fact's.
    rows: [each IN [each IN $createdRelationships WHERE type(each) = 'RELATED_TO']
             + [change IN coalesce($assignedRelationshipProperties['factId'], [])
                WHERE type(change.relationship) = 'RELATED_TO' | change.relationship]
           | {factId: each.factId, one: startNode(each), other: endNode(each)}],
    text: "
      UNWIND $rows AS row
      WITH row.factId AS factId, row.one AS one, row.other AS other
      WHERE one:Concept AND other:Concept AND NOT EXISTS {
        MATCH (fact:Fact {factId: factId})
        USING INDEX fact:Fact(factId)
        WHERE fact.fromKey = one.key AND fact.toKey = other.key
      }
      RETURN 'A RELATED_TO from the Concept `' + coalesce(toString(one.key), 'without a key')
        + '` has no factId of a Fact of these two concepts. Write it by rules.remember, or create the '
        + 'Fact with its Extraction and give the relationship its factId.' AS problem
      LIMIT 1"
  }, {
    // A relation that stays without its Fact's id.
    rows: [change IN coalesce($removedRelationshipProperties['factId'], [])
           WHERE type(change.relationship) = 'RELATED_TO'
           | {one: elementId(startNode(change.relationship)),
              other: elementId(endNode(change.relationship))}],
    text: "
      UNWIND $rows AS row
      MATCH (one) WHERE elementId(one) = row.one
      MATCH (other) WHERE elementId(other) = row.other
      MATCH (one)-[relation:RELATED_TO]->(other)
      WHERE one:Concept AND other:Concept AND relation.factId IS NULL
      RETURN 'The factId of a RELATED_TO from the Concept `'
        + coalesce(toString(one.key), 'without a key')
        + '` cannot be removed. Delete the relationship.' AS problem
      LIMIT 1"
  }, {
    // A Fact that goes while its relation stays. Most relations go with it: to look those up in the
    // index would take seconds for thousands.
    rows: [change IN coalesce($removedNodeProperties['factId'], []) | change.old],
    more: [change IN coalesce($removedRelationshipProperties['factId'], []) | toString(change.old)],
    text: "
      WITH apoc.map.fromPairs([each IN $more | [each, true]]) AS removed
      UNWIND [each IN $rows WHERE removed[toString(each)] IS NULL] AS factId
      MATCH (:Concept)-[relation:RELATED_TO {factId: factId}]->(:Concept)
      USING INDEX relation:RELATED_TO(factId)
      WHERE NOT EXISTS { MATCH (fact:Fact {factId: factId}) USING INDEX fact:Fact(factId) }
      RETURN 'The RELATED_TO of the Fact `' + toString(factId) + '` would stay without it. Delete both '
        + 'in the same transaction.' AS problem
      LIMIT 1"
  }, {
    // Provenance that goes while its fact stays. An Extraction may go if another one states the fact;
    // what a rule has of it is removed by `rules.forget`, whose writes come with a checkedRev.
    rows: [each IN $deletedRelationships
           WHERE type(each) IN ['CREATED', 'ASSERTED', 'CONFIRMED', 'RETRACTED', 'ENDED']
           | {type: type(each), source: elementId(startNode(each)), fact: elementId(endNode(each))}],
    more: [
      [each IN coalesce($removedLabels['Extraction'], []) | elementId(each)],
      [each IN coalesce($assignedNodeProperties['checkedRev'], []) | elementId(each.node)]
    ],
    text: "
      WITH apoc.map.fromPairs([each IN $more[0] | [each, true]]) AS gone,
        apoc.map.fromPairs([each IN $more[1] | [each, true]]) AS checked
      UNWIND $rows AS row
      MATCH (fact) WHERE elementId(fact) = row.fact
      WITH row, fact, gone[row.source] IS NOT NULL AS gone, checked
      WHERE fact:StyleRule OR fact:Concept OR fact:Fact
      OPTIONAL MATCH (source) WHERE elementId(source) = row.source
      WITH row, fact, source, gone, checked
      WHERE (source:Extraction OR gone)
        AND NOT (gone AND (NOT fact:StyleRule OR checked[row.fact] IS NOT NULL)
          AND EXISTS { (fact)<-[:CREATED|ASSERTED]-(:Extraction) })
      RETURN 'The Extraction of `'
        + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId)), 'a fact without an id')
        + '`, or its ' + row.type + ', would be gone while that stays. Delete both in the same '
        + 'transaction, or keep both: rules.retract ends a rule and keeps its history, and '
        + 'rules.forget deletes an Extraction with what only it states.' AS problem
      LIMIT 1"
  }, {
    // A label taken from a fact or an Extraction that stays.
    rows: reduce(found = [], label IN ['StyleRule', 'Concept', 'Fact', 'Extraction'] |
      found + [each IN coalesce($removedLabels[label], []) | {label: label, id: elementId(each)}]),
    text: "
      UNWIND $rows AS row
      MATCH (fact) WHERE elementId(fact) = row.id
      RETURN 'The label ' + row.label + ' cannot be taken from `'
        + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId, fact.extractionId)),
                   'a node without an id')
        + '`. Delete the node together with what hangs on it.' AS problem
      LIMIT 1"
  }, {
    // Another identity for a stored fact. A rule that was never checked has none yet: checking it
    // gives it one.
    rows: reduce(found = [], identity IN [
        ['user', ['StyleRule', 'Concept', 'Fact']], ['extractionId', ['Extraction']],
        ['key', ['Concept']], ['factId', ['Fact']], ['type', ['Fact']], ['fromKey', ['Fact']],
        ['toKey', ['Fact']], ['ruleId', ['StyleRule']], ['scope', ['StyleRule']],
        ['scopeId', ['StyleRule']], ['slot', ['StyleRule']], ['object', ['StyleRule']],
        ['operator', ['StyleRule']], ['value', ['StyleRule']], ['polarity', ['StyleRule']],
        ['condition', ['StyleRule']], ['text', ['StyleRule']]
      ] |
      found + [change IN coalesce($assignedNodeProperties[identity[0]], [])
                 + coalesce($removedNodeProperties[identity[0]], [])
               WHERE change.node:StyleRule|Concept|Fact|Extraction
               | {key: identity[0], owners: identity[1], id: elementId(change.node)}]),
    more: [
      reduce(found = [], label IN ['StyleRule', 'Concept', 'Fact', 'Extraction'] |
        found + [each IN coalesce($assignedLabels[label], []) | elementId(each)]),
      [each IN coalesce($assignedNodeProperties['checkedRev'], [])
       WHERE each.old IS NULL | elementId(each.node)],
      [each IN coalesce($removedNodeProperties['checkedRev'], []) | elementId(each.node)]
    ],
    text: "
      // Maps, since to look for thousands of nodes in a list takes seconds.
      WITH apoc.map.fromPairs([each IN $more[0] | [each, true]]) AS created,
        apoc.map.fromPairs([each IN $more[1] | [each, true]]) AS firstChecked,
        apoc.map.fromPairs([each IN $more[2] | [each, true]]) AS unchecked
      UNWIND [each IN $rows WHERE created[each.id] IS NULL] AS row
      MATCH (fact) WHERE elementId(fact) = row.id
      WITH row, row.key AS key, fact, firstChecked, unchecked,
        [each IN labels(fact) WHERE each IN row.owners][0] AS label
      WHERE label IS NOT NULL AND (label <> 'StyleRule' OR (
        firstChecked[row.id] IS NULL AND (fact.checkedRev IS NOT NULL OR unchecked[row.id] IS NOT NULL)))
      RETURN 'The ' + key + ' of a stored ' + label + ' cannot change: `'
        + coalesce(toString(coalesce(fact.ruleId, fact.key, fact.factId, fact.extractionId)),
                   'without an id')
        + '`. Write a new one with an Extraction of its own, and retract the old one if it is a rule.'
        AS problem
      LIMIT 1"
  }
] AS check
WITH check WHERE size(check.rows) > 0
CALL apoc.cypher.run(check.text, {rows: check.rows, more: coalesce(check.more, [])}) YIELD value
WITH collect(value.problem) AS problems
CALL apoc.util.validate(size(problems) > 0, '%s', [problems[0]])

// Rules that this transaction has created, given a preference, or changed before they were checked.
WITH [each IN coalesce($assignedLabels['StyleRule'], []) | elementId(each)]
  + [each IN $createdRelationships WHERE type(each) = 'PREFERS' | elementId(endNode(each))]
  + reduce(found = [], key IN ['user', 'scope', 'scopeId', 'slot', 'object', 'operator', 'value',
      'polarity', 'condition', 'text', 'strict', 'checkedRev'] |
    found + [change IN coalesce($assignedNodeProperties[key], [])
               + coalesce($removedNodeProperties[key], [])
             WHERE change.node:StyleRule | elementId(change.node)]) AS rows
WITH rows WHERE size(rows) > 0
CALL apoc.cypher.doIt("
  // What a procedure has written in this transaction it has checked; a preference that was added
  // beside it has no recordedAt yet.
  WITH apoc.map.fromPairs([each IN $more | [each, true]]) AS checked, apoc.coll.toSet($rows) AS ids
  UNWIND ids AS id
  MATCH (rule) WHERE elementId(rule) = id
  WITH checked, rule
  WHERE rule:StyleRule AND (checked[elementId(rule)] IS NULL
    OR EXISTS { (:User)-[preference:PREFERS]->(rule) WHERE preference.recordedAt IS NULL })
  WITH collect(rule) AS rules
  WHERE size(rules) > 0
  // By its name in a text: a CALL that is part of a statement fails it once the plugin is gone.
  CALL apoc.cypher.doIt('CALL rules.record($nodes) YIELD id RETURN id', {nodes: rules})
  YIELD value
  RETURN value
", {
  rows: rows, more: [each IN coalesce($assignedNodeProperties['checkedRev'], []) | elementId(each.node)]
}) YIELD value
RETURN value
