aaa=1
b=<<EOT
x
EOT
cc=2 # c
d=<<EOT
x = y # z
EOT
eeeeee=3
