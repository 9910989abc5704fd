"""`NAME.batch`: the variant of a procedure that takes many rows of arguments in one call."""
