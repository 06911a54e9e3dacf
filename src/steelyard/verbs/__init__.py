"""The questions: a file each, with the signature, the walk and the layout of the answer."""
