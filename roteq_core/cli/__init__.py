"""The command line `roteq`: a thin layer over the library."""
