CREATE (:Payment {iban: 'DE98 3704 0044 0532 0130 00', amount: 12.5})
