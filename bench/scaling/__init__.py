"""How compile time grows with the number of operations: `python -m scaling` in bench/."""
