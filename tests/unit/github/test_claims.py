"""What is fetched together, and by whom."""

import asyncio

from sidecypher_procedures.github.graphql_documents import LARGEST_NUMBER
from sidecypher_procedures.github.model import Kind, Target
from sidecypher_procedures.github.sharing.claims import Claims


def test_each_target_of_a_large_batch_belongs_to_one_small_group():
    """A claim has no list of the whole batch: of n targets that would be n times n."""
    issues = [Target(Kind.ISSUE, "o", "r", number) for number in range(1, 20_001)]
    claims = Claims(None, "anonymous", {each: each.key for each in issues}, {})

    async def claim_all():
        return [await claims.of(each) for each in issues]

    found = asyncio.run(claim_all())

    groups = {id(claim.group): claim.group for claim in found}
    assert {len(group.targets) for group in groups.values()} == {100}
    assert [each for group in groups.values() for each in group.targets] == issues
    assert all(claim.group.targets.count(each) for claim, each in zip(found, issues, strict=True))


def test_a_number_that_graphql_does_not_know_is_in_no_group():
    """GraphQL's integers have 32 bits; such an issue is asked for by REST."""
    large = Target(Kind.ISSUE, "o", "r", LARGEST_NUMBER + 1)
    claims = Claims(None, "anonymous", {large: large.key}, {})

    assert asyncio.run(claims.of(large)).group is None
