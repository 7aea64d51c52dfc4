"""The labs: one folder each, one module per part."""
