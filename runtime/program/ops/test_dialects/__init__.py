"""The dialects with which test programs check, show and store values."""
