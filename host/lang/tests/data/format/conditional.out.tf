a  = b ? c : d
a2 = b == c ? d : e
a3 = b ? c : d
a4 = (b
  ? c
: d)
a5 = (
  b
  ? c
  : d
)
a6 = b ? -1 : -2
a7 = b ? [1] : []
a8 = b ? "x" : "y"
