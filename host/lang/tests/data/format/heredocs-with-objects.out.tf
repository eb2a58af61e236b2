a = <<EOT
${jsonencode({ a = 1, b = [1, 2] })}
EOT
b = <<EOT
${jsonencode({
a   = 1
bbb = 2
})}
EOT
