# one
// two

/* three */
