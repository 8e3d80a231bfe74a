"""How a query is put to several graphs: to each as a whole, or pattern by pattern where it joins across them."""
