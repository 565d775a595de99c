"""`execute_plan`: a plan of tool calls that is checked as a whole, and then run exactly as it was written."""
