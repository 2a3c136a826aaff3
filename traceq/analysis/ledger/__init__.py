"""Where the time of each step went: device activity, idle gaps with their causes, the host's time."""
