a=<<EOT
EOT
b=<<-EOT
   EOT
c=<<EOT

EOT
