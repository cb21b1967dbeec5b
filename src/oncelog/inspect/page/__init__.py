"""The inspector's page: what the command line prints, drawn; served on its own or beside a broker."""
