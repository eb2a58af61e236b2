a = "${b}${c}"
b = "${b}c"
c = "b${c}"
d = " ${b}"
e = "${b} "
f = ["${b}"]
g = { x = "${b}" }
h = f("${b}")
i = ("${b}")
j = "${a}" == "${b}"
k = "$${b}"
l = "%{if a}b%{endif}"
m = "${"a"}b${"c"}"
n = -"${a}"
o = "${a}" [0]
p = "${a}".b
q = {
  x = "${b}"
}
r = <<EOT
${b}
EOT
s = "${<<EOT
${b}
EOT
}"
t = true ? "${a}" : "${b}"
