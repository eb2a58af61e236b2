short              = 1         # c
a_much_longer_name = 2         # c
medium_name        = [1, 2, 3] # c
another            = 1

x = 1 # c
