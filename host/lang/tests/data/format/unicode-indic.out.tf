a   = "क्ष"       # two
bbb = "नमस्ते"     # four
cc  = "স্বাগতম"    # six
d   = "ക്ഷമ"      # three
e   = "abcdefgh" # eight
