a = f(<<EOT
text
EOT
)
b = f(<<EOT
text
EOT
, 1)
c = [<<EOT
text
EOT
, 2]
d = {
  e   = <<EOT
text
EOT
  fff = 1
}
block {
  g = jsonencode(<<-EOT
        text
      EOT
  )
  h = [
    <<EOT
text
EOT
    ,
    <<EOT
text
EOT
  ]
}
