#!/bin/sh
# Runs one Catch2 program for CTest, its cases in random order. One seed serves the order and all that the tests draw:
# MUSTER_PROPERTY_SEED (at most 2^32 - 1), else the commit's. It is printed, and so is what a case that fails drew from.
MUSTER_PROPERTY_SEED="${MUSTER_PROPERTY_SEED:-$("$(dirname "$0")/commit_seed.sh")}"
echo "MUSTER_PROPERTY_SEED=$MUSTER_PROPERTY_SEED"
exec "$1" --order rand --rng-seed "$MUSTER_PROPERTY_SEED"
