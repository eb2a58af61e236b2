a = 1
list = [
  1,
  2,
]
bbb = 2
object = {
  x = 1
}
c = 3
call = f(
a)
dddd = 4
text = <<EOT
text
EOT
e    = 5
