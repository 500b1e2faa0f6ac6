"""Commands of the command line: `add` of each module adds its parsers to those of `nimblehlo.cli`."""
