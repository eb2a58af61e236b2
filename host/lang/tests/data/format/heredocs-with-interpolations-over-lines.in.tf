block {
a=f(<<EOT
  ${ x
+y
}   z
EOT
,   2   )
b=2
}
c=<<EOT
${f(
a,
b
)} text
EOT
d=1
