"""What a payment must be, for whoever writes one."""

from sidecypher import ProcedureError, procedure


@procedure("payments.check")
def check(ibans: list[str]) -> None:
    """Refuse account numbers whose check digits are wrong."""
    for iban in ibans:
        if not is_iban(iban):
            raise ProcedureError(
                f"A payment's IBAN `{iban[:4]}...` is none: its check digits are wrong",
                code="payments.iban",
                hint="Ask for it again; digits are easily swapped.",
            )


def is_iban(text: str) -> bool:
    """Compute the check digits as ISO 13616 says: letters count as 10 to 35."""
    iban = text.replace(" ", "")
    if not (iban.isascii() and iban.isalnum() and 15 <= len(iban) <= 34):
        return False
    digits = "".join(str(int(character, 36)) for character in iban[4:] + iban[:4])
    return int(digits) % 97 == 1
