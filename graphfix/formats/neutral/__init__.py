"""What both formats share: carrying out edits, placing new nodes, mapped and staged files, publishing a result."""
