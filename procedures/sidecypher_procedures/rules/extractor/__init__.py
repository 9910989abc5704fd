"""Takes rules, names and relations out of plain text, by patterns and without a model."""

from sidecypher_procedures.rules.extractor.extracting import (
    MAX_CHARACTERS,
    Entity,
    Extracted,
    extract,
)
from sidecypher_procedures.rules.extractor.relations import Relation
from sidecypher_procedures.rules.extractor.statements import Statement

__all__ = [
    "MAX_CHARACTERS",
    "Entity",
    "Extracted",
    "Relation",
    "Statement",
    "extract",
]
