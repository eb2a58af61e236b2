/* x
y */ a = 1 # b
ccc         = 2 # d
