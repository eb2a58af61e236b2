a {
b=1
