  # one
	// two

/* three */
