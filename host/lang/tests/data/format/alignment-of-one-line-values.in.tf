a=[1,2,3] # list
bbbb={c=1} # object
cc=f(1,2)    # call
d="${x}-${y}" # template
