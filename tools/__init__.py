"""Programs of this repository that no user runs: proofs, pages made from the code, the net."""
