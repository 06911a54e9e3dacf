"""What steelyard says of its methods, worked out again: one table of claims, by enumeration or by drawing data with a fixed seed."""
