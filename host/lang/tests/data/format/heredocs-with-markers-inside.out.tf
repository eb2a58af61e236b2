a = <<EOT
not EOT
EOT EOT
  EOT  
b = 1
c = <<A
<<B
B
A
d = 2
