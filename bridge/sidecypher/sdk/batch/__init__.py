"""`NAME.batch`: the variant of a procedure that accepts many rows of arguments in one call."""
