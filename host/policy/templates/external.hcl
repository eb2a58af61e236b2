providers = ["hashicorp/external"]

notes = [
  "Grant the configuration's programs: wardian policy grant hashicorp/external process",
  "-program=PROGRAM -arguments=LIST",
]
