#!/bin/sh
# Runs one Catch2 program for CTest, its cases in random order. One seed serves the order and all that the tests draw:
# MUSTER_PROPERTY_SEED (at most 2^32 - 1), else the time's. A case that fails prints what it drew from.
exec "$1" --order rand --rng-seed "${MUSTER_PROPERTY_SEED:-time}" --use-colour no
