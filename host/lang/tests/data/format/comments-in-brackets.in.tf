a=[ # open
1, # one
22, // two
# alone
/* before */ 333 /* behind */, # three
] # close
b={ // open
c=1 # c
dddd=2 // d
# alone
} // close
c=f( # open
1 # one
,2
)
