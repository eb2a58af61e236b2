// Allows functions without a body, which linkname declares.
