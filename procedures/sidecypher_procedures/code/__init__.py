"""The procedures `code.*`: search a graph of code whose relationships end at definitions."""
