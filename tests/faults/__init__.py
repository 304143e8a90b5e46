"""The fault suite: everything that may go wrong, done on purpose, and verified afterwards."""
