// Never compiled: the fake driver launches nothing.
